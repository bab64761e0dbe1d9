import type { Json, Platform, TaskState } from '@postern/core'
import { makeId } from '@postern/core'
import { A2aRejection } from './errors.ts'

type JsonObject = { readonly [name: string]: Json | undefined }

/** ProtoJSON of the A2A 1.0 messages, as far as we use them (A2A §4.1). */
export interface WirePart {
  readonly text?: string | undefined
  /** base64 */
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
  readonly parts: readonly WirePart[]
}

export interface WireTask {
  readonly id: string
  readonly contextId: string
  readonly status: WireTaskStatus
  readonly artifacts?: readonly WireArtifact[] | undefined
  readonly history?: readonly WireMessage[] | undefined
}

export interface SendMessageParams {
  readonly message: WireMessage
  readonly configuration?: {
    readonly acceptedOutputModes?: readonly string[] | null | undefined
    readonly taskPushNotificationConfig?: WirePushConfig | null | undefined
    readonly historyLength?: number | null | undefined
    readonly returnImmediately?: boolean | null | undefined
  } | null
}

export interface GetTaskParams {
  readonly id: string
  readonly historyLength?: number | null | undefined
}

export interface ListTasksParams {
  readonly contextId?: string | null | undefined
  readonly status?: string | null | undefined
  readonly statusTimestampAfter?: string | null | undefined
  readonly pageSize?: number | null | undefined
  readonly pageToken?: string | null | undefined
  readonly historyLength?: number | null | undefined
  readonly includeArtifacts?: boolean | null | undefined
}

/** Where to push notifications of a task (A2A §4.3.1), in the client's form. */
export interface WirePushConfig {
  readonly id?: string | null | undefined
  readonly url: string
  readonly token?: string | null | undefined
  readonly authentication?:
    | { readonly scheme: string; readonly credentials?: string | null | undefined }
    | null
    | undefined
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
  /** The parts continue those of earlier updates; otherwise they replace them. */
  readonly append?: true | undefined
  readonly lastChunk?: true | undefined
}

/** The versions we speak, newest first. */
export const protocolVersions = ['1.0', '0.3'] as const

export type ProtocolVersion = (typeof protocolVersions)[number]

/** The version of a caller that names none (A2A §3.6.2). */
const unnamedVersion = '0.3'

const majorMinor = /^(\d{1,3}\.\d{1,3})(\.\d{1,6})?$/

/** What the caller names, and what the endpoint offers. */
interface VersionOffer {
  readonly header: string | null
  readonly query: string | null | undefined
  readonly offered: readonly ProtocolVersion[]
}

/**
 * The version in the header or query, without its patch number. It never falls back silently (A2A §3.6). @throws A2aRejection
 * `versionNotSupported`
 */
export function negotiateVersion({ header, query, offered }: VersionOffer): ProtocolVersion {
  if (header === '1.0' && !query) return header
  const named = [header, query].filter(Boolean).map(text => majorMinor.exec((text as string).trim())?.[1])
  const wanted = named.length > 0 ? named[0] : unnamedVersion
  const version = offered.find(each => each === wanted)
  if (version === undefined || named.some(other => other !== version)) throw refuseVersion(named, offered)
  return version
}

function refuseVersion(named: readonly (string | undefined)[], offered: VersionOffer['offered']): A2aRejection {
  return new A2aRejection('versionNotSupported', describeRefusal(named, `this agent speaks ${offered.join(', ')}`))
}

function describeRefusal(named: readonly (string | undefined)[], spoken: string): string {
  if (named.length === 0) return `Cannot take request: A2A-Version is absent, which means 0.3; ${spoken}`
  if (named.length > 1 && named[0] !== named[1]) return `Cannot take request: two A2A versions named; ${spoken}`
  return `Cannot take request: A2A-Version is not supported; ${spoken}`
}

/** The caller used a method of 1.0 but named no version, which means 0.3. */
export function refuseNewMethod(): A2aRejection {
  return new A2aRejection(
    'versionNotSupported',
    'Cannot take request: A2A-Version is absent or 0.3, which has no such method; name 1.0',
  )
}

/** The operations of A2A §3.1, by the names they have in JSON-RPC and gRPC. */
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

const names: ReadonlySet<string> = new Set(operationNames)

export function isOperationName(name: string): name is OperationName {
  return names.has(name)
}

/** Our states by their names on the wire (A2A §4.1.3). */
const byState: Readonly<Record<TaskState, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
  input_required: 'TASK_STATE_INPUT_REQUIRED',
  auth_required: 'TASK_STATE_AUTH_REQUIRED',
}

/** Every state a client may ask for. */
export const wireStates: readonly string[] = Object.values(byState)

/** The unspecified state: by name, by number (as text in a query), or absent. */
export const zeroStates: readonly unknown[] = ['TASK_STATE_UNSPECIFIED', 0, '0', '']

const terminal: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'canceled', 'rejected'])

export function toWireState(state: TaskState): string {
  return byState[state]
}

/** The state of ours with this wire name, if there is one. */
export function fromWireState(name: string): TaskState | undefined {
  return (Object.keys(byState) as TaskState[]).find(state => byState[state] === name)
}

export function isTerminal(state: TaskState): boolean {
  return terminal.has(state)
}

/** Terminal or waiting for the client. A blocking call ends here (A2A §3.2.2). */
export function isAtRest(state: TaskState): boolean {
  return terminal.has(state) || state === 'input_required' || state === 'auth_required'
}

/** The same for a state's name on the wire. */
export function isWireStateAtRest(name: string): boolean {
  const state = fromWireState(name)
  return state !== undefined && isAtRest(state)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A UUID that begins with the time (RFC 9562 §5.7); nobody can guess the 74 bits behind it. */
export function makeTaskId(platform: Pick<Platform, 'now' | 'randomBytes'>): string {
  const hex = makeId(platform)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Whether this has the form of our task ids. */
export function isTaskId(id: string): boolean {
  return uuid.test(id)
}

/** JSON with sorted members: one text for one value, whatever the writer. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${toCanonicalJson((value as Readonly<Record<string, unknown>>)[name])}`)
  return `{${members.join(',')}}`
}

/** The approximate length of parts as JSON, without writing it. Texts and bytes determine it. */
export function countPartChars(parts: readonly WirePart[]): number {
  let count = 0
  for (const { text, raw, url, data, metadata } of parts) {
    count += 64 + (text ?? raw ?? url ?? '').length
    if (data !== undefined) count += JSON.stringify(data).length
    if (metadata !== undefined) count += JSON.stringify(metadata).length
  }
  return count
}

/** The approximate length of a task as JSON. */
export function countTaskChars({ status, artifacts = [], history = [] }: WireTask): number {
  const messages: readonly (WireMessage | undefined)[] = [status.message, ...history]
  const lists = [...messages.map(message => message?.parts ?? []), ...artifacts.map(({ parts }) => parts)]
  return lists.reduce((sum, parts) => sum + countPartChars(parts), 256)
}

/** The approximate length of a stream's event as JSON. */
export function countEventChars(event: WireStreamEvent): number {
  if ('task' in event) return countTaskChars(event.task)
  if ('message' in event) return countPartChars(event.message.parts)
  if ('artifactUpdate' in event) return countPartChars(event.artifactUpdate.artifact.parts)
  return countPartChars(event.statusUpdate.status.message?.parts ?? [])
}
