// Reads members by their names in the protobuf file, which ProtoJSON allows too.
import { isJsonObject } from '@postern/message'

/** The JSON names of members by their names in the protobuf file. */
const protoNames: Readonly<Record<string, string>> = {
  message_id: 'messageId',
  context_id: 'contextId',
  task_id: 'taskId',
  reference_task_ids: 'referenceTaskIds',
  media_type: 'mediaType',
  accepted_output_modes: 'acceptedOutputModes',
  task_push_notification_config: 'taskPushNotificationConfig',
  history_length: 'historyLength',
  return_immediately: 'returnImmediately',
  page_size: 'pageSize',
  page_token: 'pageToken',
  status_timestamp_after: 'statusTimestampAfter',
  include_artifacts: 'includeArtifacts',
}

/** The members that contain members of the protocol. The content of `data` and `metadata` is the caller's own. */
const memberReaders: Readonly<Record<string, (value: unknown) => unknown>> = {
  message: readProtoNames,
  configuration: readProtoNames,
  taskPushNotificationConfig: readProtoNames,
  parts: value => (Array.isArray(value) ? mapChanged(value, readProtoNames) : value),
}

/**
 * Returns parameters with the JSON names of all members, because ProtoJSON allows either. If both occur, the JSON name
 * counts. It returns the same object if nothing changes, as usual.
 */
export function readProtoNames(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  let result: Record<string, unknown> | undefined
  for (const [name, member] of Object.entries(value)) {
    const protoName = Object.hasOwn(protoNames, name) ? protoNames[name] : undefined
    const presentName = protoName !== undefined && value[protoName] === undefined ? protoName : name
    const read = Object.hasOwn(memberReaders, presentName) ? memberReaders[presentName]?.(member) : member
    if (presentName === name && read === member) continue
    result ??= { ...value }
    if (presentName !== name) delete result[name]
    result[presentName] = read
  }
  return result ?? value
}

function mapChanged(items: readonly unknown[], read: (item: unknown) => unknown): readonly unknown[] {
  let result: unknown[] | undefined
  for (const [index, item] of items.entries()) {
    const next = read(item)
    if (next === item) continue
    result ??= [...items]
    result[index] = next
  }
  return result ?? items
}
