// Answers in a stream, remembers each thread, and recognizes a proven colleague.
import type { NormalizedMessage, Sender } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

export async function* handle(message: NormalizedMessage, context: AgentContext): AsyncGenerator<AgentChunk> {
  const { visits = 0 } = ((await context.state.get()) ?? {}) as { readonly visits?: number }
  context.state.set({ visits: visits + 1 })
  yield isColleague(message.sender) ? 'Welcome back to the gateway. ' : 'Hello. '
  yield `This is message ${visits + 1} of our conversation, and I know ${context.history().turns.length} turns of it.`
}

/** Recognizes a colleague by the proven identity: the signer of the address, not a name or a profile. */
function isColleague({ verified, identities = [] }: Sender): boolean {
  return verified && identities.some(({ proof, issuer }) => proof.type === 'transport' && issuer === 'peer.test')
}
