// Describes the cancellation of a task as a message to the agent that has asked a question in it.
import { isoTime, randomHex } from '@postern/message'
import type { ChannelContext, Intake, TaskCancelEvent, TaskRecord } from '@postern/pipeline'
import { taskCanceledFlag } from '@postern/pipeline'
import { renderSender } from '../auth/sender.ts'
import type { Call } from '../endpoint/call.ts'
import { describeCallOrigin, stripRequest } from '../normalize.ts'
import { a2aDescriptor } from '../speaker.ts'

/** A task that its caller cancels, and the call that does so. */
interface CanceledTask extends Pick<TaskRecord, 'id' | 'context'> {
  readonly call: Call
  /** The id of the agent's answer with the question. */
  readonly question: string
  /** The time of the cancellation, in ms since the epoch. */
  readonly canceledAt: number
}

/** The largest request that is stored. A larger one has members that the gateway does not read. */
const maxRawBytes = 16 * 1024

/** Creates the event for an agent that receives cancellations, such as an AG-UI server. Returns undefined for any other agent. */
export function createCancelEvent(
  call: Call,
  { id, context }: TaskRecord,
  { system, agents }: Pick<ChannelContext, 'system' | 'agents'>,
): TaskCancelEvent | undefined {
  if (!call.agent.hearsCancels) return undefined
  const canceledAt = system.now()
  const trace = call.steps?.trace()
  return {
    correlationId: randomHex(system, 8),
    describe: question => ({ ...normalizeCancel({ call, id, context, question, canceledAt }, agents.domain), trace }),
  }
}

/** Converts a canceled task to a message of its caller, which the agent reads. `domain` is the domain of our agents. */
export function normalizeCancel({ call, id, context, question, canceledAt }: CanceledTask, domain: string) {
  const { caller, agent, bytes } = call
  const recipient = `@${agent.name}@${domain}`
  const received_at = isoTime(canceledAt)
  const isStored = bytes.length > 0 && bytes.length <= maxRawBytes
  return {
    agent: agent.name,
    message: {
      id: `urn:postern:cancel:${id}`,
      thread_source: context,
      in_reply_to: question,
      sender: renderSender(caller, [], { audience: recipient, issuedAt: received_at }),
      recipient,
      parts: [],
      recipient_capabilities: { mention_relay: a2aDescriptor.mentionRelay },
      received_via: 'a2a',
      received_at,
      kind: 'cancel',
    },
    thread: { scope: caller.owner, references: [] },
    aliases: [],
    proofs: [caller.proof],
    arrival: { ...describeCallOrigin(call), question },
    raw: { bytes: isStored ? stripRequest(call) : Buffer.from(JSON.stringify({ id })), form: 'json' },
    target: { id, context, isCanceled: true },
    disposition: 'answer',
    flags: [taskCanceledFlag],
  } as const satisfies Omit<Intake, 'duplicateKey'>
}
