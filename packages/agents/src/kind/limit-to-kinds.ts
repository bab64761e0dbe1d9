// Limits an agent to some kinds of messages.

import type { Agent } from '@postern/pipeline'

/** Wraps an agent so that it gets only the named kinds of messages. An agent that has only `handle` gets ordinary messages. */
export function limitToKinds(agent: Agent, kinds: readonly string[]): Agent {
  return {
    ...(agent.start && { start: publisher => agent.start?.(publisher) }),
    ...(agent.forget && { forget: (person, context) => agent.forget?.(person, context) }),
    handle: (message, context) =>
      kinds.includes(message.kind ?? 'message') ? agent.handle(message, context) : undefined,
  }
}
