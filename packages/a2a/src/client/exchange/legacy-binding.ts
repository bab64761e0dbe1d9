import { isJsonObject } from '@postern/core'
import type { WireMessage } from '../../format/wire.ts'
import { readLegacyMessage, readLegacyPart } from '../../legacy/read-params.ts'
import { writeLegacyMessage } from '../../legacy/write-results.ts'
import type { ClientOperation, WireBinding } from './binding.ts'
import { readRpcResult } from './rpc-result.ts'

type Member = Readonly<Record<string, unknown>>

const methods: Readonly<Record<ClientOperation, string>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
}

/** A2A 0.3 over JSON-RPC, which many agents still speak. Its interface is that of 1.0. */
export const legacyBinding: WireBinding = {
  version: '0.3',
  describe: (operation, params, { url }) => ({
    method: 'POST',
    url,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: methods[operation], params: writeParams(params) }),
  }),
  readResult(document, operation) {
    const event = readLegacyEvent(readRpcResult(document))
    return operation === 'GetTask' ? event.task : event
  },
}

function writeParams({ message, ...rest }: Member): object {
  if (message === undefined) return rest
  return { ...rest, message: writeLegacyMessage(message as WireMessage), configuration: { blocking: true } }
}

const readers: Readonly<Record<string, (value: Member) => Member>> = {
  message: value => ({ message: readLegacyMessage(value) }),
  task: ({ status, artifacts, ...task }) => ({
    task: {
      ...task,
      status: readStatus(status),
      ...(Array.isArray(artifacts) && { artifacts: artifacts.map(readArtifact) }),
    },
  }),
  'status-update': ({ status, ...update }) => ({ statusUpdate: { ...update, status: readStatus(status) } }),
  'artifact-update': ({ artifact, ...update }) => ({ artifactUpdate: { ...update, artifact: readArtifact(artifact) } }),
}

/** Leaves unknown names empty, so that the validator of 1.0 refuses them. */
function readLegacyEvent(result: unknown): Member {
  if (!isJsonObject(result) || typeof result.kind !== 'string') return {}
  return Object.hasOwn(readers, result.kind) ? (readers[result.kind]?.(result) ?? {}) : {}
}

/** `input-required` → `TASK_STATE_INPUT_REQUIRED`. */
function readStatus(status: unknown): unknown {
  if (!isJsonObject(status)) return status
  const { state, message, ...rest } = status
  const name = typeof state === 'string' ? `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}` : state
  return { ...rest, state: name, ...(isJsonObject(message) && { message: readLegacyMessage(message) }) }
}

function readArtifact(artifact: unknown): unknown {
  if (!isJsonObject(artifact) || !Array.isArray(artifact.parts)) return artifact
  return { ...artifact, parts: artifact.parts.map(readLegacyPart) }
}
