"""Security contexts of pods and containers. Used by `containers` and `template`.

`launching.isolation` decides which of their fields may be set; this module defines their shape.
"""

from __future__ import annotations

from lithify.resources.pod_template.nodes import (
    PATH_LENGTH,
    TEXT_LENGTH,
    Schema,
    fields,
    flag,
    listed,
    number,
    text,
)


def pod_security_context() -> Schema:
    """Settings for all containers of a pod."""
    return fields(
        **_shared(),
        fsGroup=number(),
        fsGroupChangePolicy=text(32),
        seLinuxChangePolicy=text(32),
        supplementalGroups=listed(number(), 64),
        supplementalGroupsPolicy=text(32),
        sysctls=listed(fields(name=text(), value=text()), 32),
    )


def security_context() -> Schema:
    """Settings for one container."""
    return fields(
        **_shared(),
        allowPrivilegeEscalation=flag(),
        capabilities=fields(add=listed(text(64), 64), drop=listed(text(64), 64)),
        privileged=flag(),
        procMount=text(32),
        readOnlyRootFilesystem=flag(),
    )


def _shared() -> dict[str, Schema]:
    return {
        "appArmorProfile": fields(type=text(32), localhostProfile=text(PATH_LENGTH)),
        "runAsGroup": number(),
        "runAsNonRoot": flag(),
        "runAsUser": number(),
        "seccompProfile": fields(type=text(32), localhostProfile=text(PATH_LENGTH)),
        "seLinuxOptions": fields(user=text(), role=text(), type=text(), level=text()),
        "windowsOptions": fields(
            gmsaCredentialSpec=text(TEXT_LENGTH),
            gmsaCredentialSpecName=text(),
            hostProcess=flag(),
            runAsUserName=text(),
        ),
    }
