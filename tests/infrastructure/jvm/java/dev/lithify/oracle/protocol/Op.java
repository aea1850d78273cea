package dev.lithify.oracle.protocol;

/** One operation of the oracle: arguments in, anything Jackson can write out. */
@FunctionalInterface
public interface Op {
    Object run(Args args) throws Exception;
}
