// Defines the JSON messages, operations and task states of A2A 1.0.
import type { Json } from '@postern/message'
import type { TaskState } from '@postern/pipeline'

type JsonObject = { readonly [name: string]: Json | undefined }

/** A part in ProtoJSON. The types of this file have only the members that the gateway uses (A2A §4.1). */
export interface WirePart {
  readonly text?: string | undefined
  /** The bytes in base64. */
  readonly raw?: string | undefined
  readonly url?: string | undefined
  readonly data?: Json | undefined
  readonly filename?: string | undefined
  readonly mediaType?: string | undefined
  readonly metadata?: JsonObject | undefined
}

export interface WireMessage {
  readonly messageId: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly WirePart[]
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly metadata?: JsonObject | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
}

export interface WireTaskStatus {
  readonly state: string
  readonly timestamp: string
  readonly message?: WireMessage | undefined
}

export interface WireArtifact {
  readonly artifactId: string
  readonly name?: string | undefined
  readonly parts: readonly WirePart[]
}

export interface WireTask {
  readonly id: string
  readonly contextId: string
  readonly status: WireTaskStatus
  readonly artifacts?: readonly WireArtifact[] | undefined
  readonly history?: readonly WireMessage[] | undefined
}

/** A StreamResponse of A2A §3.2.3 with exactly one of these members. */
export type WireStreamEvent =
  | { readonly task: WireTask }
  | { readonly message: WireMessage }
  | { readonly statusUpdate: WireStatusUpdate }
  | { readonly artifactUpdate: WireArtifactUpdate }

interface WireStatusUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly status: WireTaskStatus
}

interface WireArtifactUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: WireArtifact
  /** True if the parts continue those of earlier updates. Otherwise they replace them. */
  readonly append?: true | undefined
  readonly lastChunk?: true | undefined
}

/** The supported versions, newest first. */
export const protocolVersions = ['1.0', '0.3'] as const

export type ProtocolVersion = (typeof protocolVersions)[number]

/** The operations of A2A §3.1, by their names in JSON-RPC and gRPC. */
export const operationNames = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
] as const

export type OperationName = (typeof operationNames)[number]

const operationNameSet: ReadonlySet<string> = new Set(operationNames)

export function isOperationName(name: string): name is OperationName {
  return operationNameSet.has(name)
}

/** The names of the gateway's task states on the wire (A2A §4.1.3). */
export const wireStateOf: Readonly<Record<TaskState, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
  input_required: 'TASK_STATE_INPUT_REQUIRED',
  auth_required: 'TASK_STATE_AUTH_REQUIRED',
}

/** Every state that a client may request. */
export const wireStates: readonly string[] = Object.values(wireStateOf)

/** The unspecified state: by name, by number (as text in a query), or absent. */
export const zeroStates: readonly unknown[] = ['TASK_STATE_UNSPECIFIED', 0, '0', '']

const terminalStates: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'canceled', 'rejected'])

/** The states in which a task has ended or waits for the client. A blocking call ends in these (A2A §3.2.2). */
export const statesAtRest: ReadonlySet<TaskState> = new Set([...terminalStates, 'input_required', 'auth_required'])

/** Returns our state with this wire name, if there is one. */
export function fromWireState(name: string): TaskState | undefined {
  return (Object.keys(wireStateOf) as TaskState[]).find(state => wireStateOf[state] === name)
}

export function isTerminal(state: TaskState): boolean {
  return terminalStates.has(state)
}

/** Returns true if the task with this wire state has ended or waits for the client. */
export function isWireStateAtRest(name: string): boolean {
  const state = fromWireState(name)
  return state !== undefined && statesAtRest.has(state)
}

/** Returns the approximate length of parts as JSON without formatting them. Texts and bytes determine the length. */
export function countPartChars(parts: readonly WirePart[]): number {
  let count = 0
  for (const { text, raw, url, data, metadata } of parts) {
    count += 64 + (text ?? raw ?? url ?? '').length
    if (data !== undefined) count += JSON.stringify(data).length
    if (metadata !== undefined) count += JSON.stringify(metadata).length
  }
  return count
}

/** Returns the approximate length of a task as JSON. */
export function countTaskChars({ status, artifacts = [], history = [] }: WireTask): number {
  const messages: readonly (WireMessage | undefined)[] = [status.message, ...history]
  const lists = [...messages.map(message => message?.parts ?? []), ...artifacts.map(({ parts }) => parts)]
  return lists.reduce((sum, parts) => sum + countPartChars(parts), 256)
}

/** Returns the approximate length of a stream's event as JSON. */
export function countEventChars(event: WireStreamEvent): number {
  if ('task' in event) return countTaskChars(event.task)
  if ('message' in event) return countPartChars(event.message.parts)
  if ('artifactUpdate' in event) return countPartChars(event.artifactUpdate.artifact.parts)
  return countPartChars(event.statusUpdate.status.message?.parts ?? [])
}
