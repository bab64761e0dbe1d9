import type { AgentChunk, AgentContext, NormalizedMessage, Sender } from '@postern/core'

/** An agent in the gateway itself: remembers per thread, streams, and decides by what was proven. */
export async function* handle(message: NormalizedMessage, context: AgentContext): AsyncGenerator<AgentChunk> {
  const { visits = 0 } = ((await context.state.get()) ?? {}) as { readonly visits?: number }
  context.state.set({ visits: visits + 1 })
  yield isColleague(message.sender) ? 'Welcome back to the gateway. ' : 'Hello. '
  yield `This is message ${visits + 1} of our conversation, and I know ${context.history().turns.length} turns of it.`
}

/** By the proven identity: who signed the address, not what a name or a profile says. */
function isColleague({ verified, identities = [] }: Sender): boolean {
  return verified && identities.some(({ proof, issuer }) => proof.type === 'transport' && issuer === 'peer.test')
}
