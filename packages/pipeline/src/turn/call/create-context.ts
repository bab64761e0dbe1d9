// Creates the context that an agent gets with its message.

import type { Sender } from '@postern/message'
import { bindLog, createSenderIdentity } from '@postern/message'
import type { AgentContext } from '../../ports/agent/agent-context.ts'
import { createStreamingMember } from '../../ports/agent/answer-streaming.ts'
import type { HistoryView } from '../../ports/agent/history-policy.ts'
import { createRecorderMember } from '../../ports/agent/step-recorder.ts'
import { findChannel } from '../../ports/channel/channel.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { logFieldsOf } from '../trace/log-fields.ts'
import type { CallDeps } from './call-deps.ts'
import { callOtherAgent } from './call-other-agent.ts'
import { enterStage } from './stream-chunks.ts'

interface MessageScope {
  readonly signal: AbortSignal
  readonly view: HistoryView
  readonly sender: Sender
}

export function createContext(turn: Turn, deps: CallDeps, { signal, view, sender }: MessageScope): AgentContext {
  const { turnContext, state, openActions, openRequirements, notes, person, draft } = deps
  return {
    signal,
    ...createStreamingMember({
      isSentWhole: findChannel(turnContext.channels, turn.via)?.descriptor.streamsAnswers !== true,
    }),
    history: () => view,
    attachment: part => turnContext.readAttachment(part, signal),
    state,
    thread: turn.thread,
    messageNumber: turn.message,
    ...createStepScopes(turn, deps, signal)(),
    note: notes.note,
    stage: name => enterStage(name, deps),
    identity: createSenderIdentity(sender),
    isPublic: async () => (await turnContext.store.readThreadScope(turn.thread)) === 'public',
    ...(person && { person }),
    log: bindLog(turnContext.system.log, logFieldsOf(turn)),
    correlationId: turn.correlationId,
    responseId: draft.id,
    flags: turn.flags,
    post: (content, options) => openActions().post(content, options),
    reply: (thread, content) => openActions().reply(thread, content),
    edit: (response, content) => openActions().edit(response, content),
    delete: response => openActions().delete(response),
    react: (reaction, message) => openActions().react(reaction, message),
    requireConsent: requirement => openRequirements().requireConsent(requirement),
    requirePayment: requirement => openRequirements().requirePayment(requirement),
    requireAuth: requirement => openRequirements().requireAuth(requirement),
    refuse: refusal => openRequirements().refuse(refusal),
  }
}

type StepScope = Pick<AgentContext, 'call' | 'traceparent'>

/** Creates the members of a context that depend on the step in which they are used. Without a step they belong to the turn itself. */
function createStepScopes(
  turn: Turn,
  { turnContext, notes, trace }: Pick<CallDeps, 'turnContext' | 'notes' | 'trace'>,
  signal: AbortSignal,
): (step?: number) => StepScope {
  let calls = 0
  const createScope = (parent?: number): StepScope => ({
    // Calls are identified by their order, which is the same when the turn is retried.
    call: (...callArguments) =>
      callOtherAgent(turn, turnContext, { signal, notes, trace, parent, callKey: String(++calls) }, ...callArguments),
    ...(turnContext.traceparentOf && { traceparent: turnContext.traceparentOf(turn, parent) }),
    ...createRecorderMember({
      begin(start) {
        const { number, end } = trace.steps.begin(start, parent)
        return { within: context => ({ ...context, ...createScope(number) }), end }
      },
    }),
  })
  return createScope
}
