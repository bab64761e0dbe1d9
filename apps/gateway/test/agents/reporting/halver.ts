// Answers with, notes and stores halves of characters, whole or in chunks that split a character.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

export async function* handle(message: NormalizedMessage, context: AgentContext): AsyncGenerator<AgentChunk> {
  if (plainTextOf(message.parts).includes('in pieces')) {
    yield 'ok \ud83d'
    yield '\ude00 done'
    return
  }
  context.state.set({ 'kept \ud83d': '\ude00' })
  context.note({ type: 'action', tool: 'look \ud83d', args: { q: '\ude00' } })
  yield { parts: [{ kind: 'text', mime: 'text/plain', content: 'ok \ud83d and \ude00 done' }], subject: 'On \ud83d' }
}
