import { hash } from 'node:crypto'
import type { Intake } from '@postern/core'
import { isJsonObject, isoTime } from '@postern/core'
import { recordCallArrival } from './arrival.ts'
import type { Call } from './endpoint/call.ts'
import { toCanonicalJson } from './format/canonical.ts'
import type { SendMessageParams, WireMessage } from './format/wire.ts'
import { evidence, stripCredentials, stripMessage } from './message/credentials.ts'
import { renderSender } from './message/sender.ts'
import { readParts } from './parts/read-parts.ts'
import type { ResolvedMessage } from './resolve.ts'

/** Converts a proven message to an intake. `domain` is that of our agents. */
export function normalizeMessage(proven: ResolvedMessage, domain: string): Intake {
  const { call, params, task, chain, phase, senderEvidence, claim, receivedAt } = proven
  const { caller, agent } = call
  const { message } = params
  const recipient = `@${agent.name}@${domain}`
  const received_at = isoTime(receivedAt)
  const inReplyTo = readInReplyTo(message)
  const { parts, blobs } = readParts(message.parts)
  return {
    agent: agent.name,
    message: {
      id: message.messageId,
      thread_id: task.context,
      ...(inReplyTo && { in_reply_to: inReplyTo }),
      sender: renderSender(caller, senderEvidence.accepted, { audience: recipient, issuedAt: received_at }),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: senderEvidence.mentionRelay, ...(chain && { agent_chain: chain }) },
      received_via: 'a2a',
      received_at,
      ...(claim && { policy_resolution: claim.resolution }),
      ...phase,
    },
    duplicateKey: duplicateKeyOf(proven),
    fingerprint: fingerprintOf(params),
    thread: { scope: caller.owner, references: [] },
    aliases: [],
    proofs: [caller.proof, ...senderEvidence.proofs],
    arrival: recordCallArrival(proven),
    raw: { bytes: rawOf(call), form: 'json' },
    ...(blobs.length > 0 && { blobs }),
    target: { id: task.id, context: task.context },
    disposition: 'answer',
    task: { owner: caller.owner, ...task },
    ...(claim && { resolution: claim.decision }),
  }
}

/**
 * A message id is unique for its principal. Callers without credentials share one principal: their ids are unique for the task or context
 * that they name. Without either, a repeated message is a new one.
 */
function duplicateKeyOf({ call, params, task }: ResolvedMessage): string {
  const { owner, isAnonymous } = call.caller
  const { messageId, taskId, contextId } = params.message
  const place = isAnonymous ? [taskId || contextId || task.id] : []
  return JSON.stringify([owner, ...place, messageId])
}

/** The content without the client's wishes for the answer, so that a repetition is recognized. */
function fingerprintOf({ message }: SendMessageParams): string {
  return hash('sha256', toCanonicalJson(stripMessage(message, evidence)))
}

function rawOf({ document, bytes, binding }: Call): Uint8Array {
  const stripped = binding === 'JSONRPC' ? stripCredentials(document) : stripParams(document)
  return stripped === document ? bytes : Buffer.from(JSON.stringify(stripped))
}

/** If the parameters are the whole request. */
function stripParams(document: unknown): unknown {
  const whole = { params: document }
  const stripped = stripCredentials(whole)
  return stripped === whole ? document : (stripped as typeof whole).params
}

/** A2A has no member for it, so it is in the family's namespace. */
function readInReplyTo({ metadata }: WireMessage): string | undefined {
  const named = isJsonObject(metadata?.mentionable) ? metadata.mentionable.in_reply_to : undefined
  return typeof named === 'string' && named.length <= 256 ? named : undefined
}
