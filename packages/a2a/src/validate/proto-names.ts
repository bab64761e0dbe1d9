// Reads members by their names in the protobuf file, which ProtoJSON allows too.
import { isJsonObject } from '@postern/message'

/** The JSON names of members by their names in the protobuf file. */
const jsonNames: Readonly<Record<string, string>> = {
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
 * counts. It returns the same object if nothing changes, which is the usual case.
 */
export function readProtoNames(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  let result: Record<string, unknown> | undefined
  for (const [name, member] of Object.entries(value)) {
    const jsonName = Object.hasOwn(jsonNames, name) ? jsonNames[name] : undefined
    const memberName = jsonName !== undefined && value[jsonName] === undefined ? jsonName : name
    const readValue = Object.hasOwn(memberReaders, memberName) ? memberReaders[memberName]?.(member) : member
    if (memberName === name && readValue === member) continue
    result ??= { ...value }
    if (memberName !== name) delete result[name]
    result[memberName] = readValue
  }
  return result ?? value
}

function mapChanged(items: readonly unknown[], read: (item: unknown) => unknown): readonly unknown[] {
  let result: unknown[] | undefined
  for (const [index, item] of items.entries()) {
    const readItem = read(item)
    if (readItem === item) continue
    result ??= [...items]
    result[index] = readItem
  }
  return result ?? items
}
