// Hands its request over to `desk` (as `lobby`, to `front`) on behalf of the sender, or, if asked to cheat, on behalf of a made-up message.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const isCheating = plainTextOf(message.parts).includes('cheat')
  context.stage('handing over')
  context.note({ type: 'observation', content: 'It is for the desk.' })
  const onBehalfOf = isCheating ? { ...message, id: 'made-up' } : message
  const to = message.recipient.startsWith('@lobby@') ? '@front@agents.test' : '@desk@agents.test'
  const { parts } = await context.call(to, 'Please help.', { onBehalfOf })
  return plainTextOf(parts)
}
