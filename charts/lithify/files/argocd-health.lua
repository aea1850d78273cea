-- How Argo CD shows the health of our kinds. It follows the conditions Reconciling and Stalled, as kstatus does, and
-- then what the kind itself says: Ready, or Succeeded for a Compaction.
local function condition(kind)
  if obj.status ~= nil and obj.status.conditions ~= nil then
    for _, one in ipairs(obj.status.conditions) do
      if one.type == kind then
        return one
      end
    end
  end
  return {}
end

local function answer(status, message)
  return { status = status, message = message or "" }
end

if obj.metadata.deletionTimestamp ~= nil then
  return answer("Progressing", "is being deleted")
end
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return answer("Progressing", "waits for the operator")
end

local said = condition(obj.kind == "Compaction" and "Succeeded" or "Ready")
if condition("Stalled").status == "True" then
  return answer("Degraded", condition("Stalled").message)
end
if said.reason == "Suspended" or said.reason == "AwaitingApproval" then
  return answer("Suspended", said.message)
end
if condition("Reconciling").status == "True" then
  return answer("Progressing", said.message)
end
if said.status == "True" then
  return answer("Healthy", said.message)
end
if said.status == "False" and obj.kind == "Compaction" then
  return answer("Degraded", said.message)
end
-- What is not ready and not stalled is tried again by itself.
return answer("Progressing", said.message)
