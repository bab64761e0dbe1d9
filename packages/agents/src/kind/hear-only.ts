// Limits an agent to some kinds of messages.

import type { Agent } from '@postern/pipeline'

/** Wraps an agent so that it gets only the named kinds of messages. An agent that has only `handle` gets ordinary messages. */
export function hearOnly(agent: Agent, kinds: readonly string[]): Agent {
  return {
    ...(agent.start && { start: publisher => agent.start?.(publisher) }),
    ...(agent.forget && { forget: (forgotten, context) => agent.forget?.(forgotten, context) }),
    handle: (message, context) =>
      kinds.includes(message.kind ?? 'message') ? agent.handle(message, context) : undefined,
  }
}
