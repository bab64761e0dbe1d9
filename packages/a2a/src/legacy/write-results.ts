// Converts results of A2A 1.0 to those of 0.3.
import { isJsonObject } from '@postern/message'
import type {
  OperationName,
  WireArtifact,
  WireMessage,
  WirePart,
  WireStreamEvent,
  WireTask,
  WireTaskStatus,
} from '../format/wire.ts'
import { isWireStateAtRest } from '../format/wire.ts'
import { renderLegacyCard } from './card.ts'

/** The conversion of each operation's result. The other operations have the same result in both versions. */
const resultWriters: Readonly<Partial<Record<OperationName, (result: never) => unknown>>> = {
  SendMessage: writeLegacyEvent,
  GetTask: writeTask,
  CancelTask: writeTask,
  CreateTaskPushNotificationConfig: writePushConfig,
  GetTaskPushNotificationConfig: writePushConfig,
  ListTaskPushNotificationConfigs: ({ configs }: { configs?: readonly PushConfig[] }) =>
    (configs ?? []).map(writePushConfig),
  DeleteTaskPushNotificationConfig: () => null,
  GetExtendedAgentCard: renderLegacyCard,
}

export function writeLegacyResult(name: OperationName, result: object): unknown {
  const write = resultWriters[name]
  return write ? write(result as never) : result
}

/** Converts an event of a stream, or the result of SendMessage. */
export function writeLegacyEvent(event: WireStreamEvent): object {
  if ('task' in event) return writeTask(event.task)
  if ('message' in event) return writeMessage(event.message)
  if ('artifactUpdate' in event) {
    const { taskId, contextId, artifact, append = false, lastChunk = false } = event.artifactUpdate
    return { kind: 'artifact-update', taskId, contextId, artifact: writeArtifact(artifact), append, lastChunk }
  }
  const { taskId, contextId, status } = event.statusUpdate
  return {
    kind: 'status-update',
    taskId,
    contextId,
    status: writeStatus(status),
    final: isWireStateAtRest(status.state),
  }
}

function writeTask({ id, contextId, status, artifacts, history }: WireTask): object {
  return {
    kind: 'task',
    id,
    contextId,
    status: writeStatus(status),
    ...(artifacts && { artifacts: artifacts.map(writeArtifact) }),
    ...(history && { history: history.map(writeMessage) }),
  }
}

/** Converts a status. For example, `TASK_STATE_INPUT_REQUIRED` becomes `input-required`. */
function writeStatus({ state, timestamp, message }: WireTaskStatus): object {
  const name = state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-')
  return { state: name, timestamp, ...(message && { message: writeMessage(message) }) }
}

function writeArtifact({ artifactId, name, parts }: WireArtifact): object {
  return { artifactId, ...(name && { name }), parts: parts.map(writePart) }
}

function writeMessage({ role, parts, ...members }: WireMessage): object {
  return { kind: 'message', ...members, role: role === 'ROLE_USER' ? 'user' : 'agent', parts: parts.map(writePart) }
}

function writePart({ text, raw, url, data, mediaType, filename, metadata }: WirePart): object {
  const withMetadata = metadata && { metadata }
  if (text !== undefined) return { kind: 'text', text, ...withMetadata }
  const label = { ...(mediaType && { mimeType: mediaType }), ...(filename && { name: filename }) }
  if (raw !== undefined) return { kind: 'file', file: { bytes: raw, ...label }, ...withMetadata }
  if (url !== undefined) return { kind: 'file', file: { uri: url, ...label }, ...withMetadata }
  // Data in 0.3 is always an object.
  return { kind: 'data', data: isJsonObject(data) ? data : { value: data ?? null }, ...withMetadata }
}

interface PushConfig {
  readonly taskId: string
  readonly id: string
  readonly url: string
  readonly token?: string | undefined
  readonly authentication?: { readonly scheme: string } | undefined
}

function writePushConfig({ taskId, id, url, token, authentication }: PushConfig): object {
  const schemes = authentication && { authentication: { schemes: [authentication.scheme] } }
  return { taskId, pushNotificationConfig: { id, url, ...(token && { token }), ...schemes } }
}

/** Our client also calls agents that use 0.3 with this function. */
export { writeMessage as writeLegacyMessage }
