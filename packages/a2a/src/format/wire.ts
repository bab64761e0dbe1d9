import type { Json } from '@postern/core'

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
