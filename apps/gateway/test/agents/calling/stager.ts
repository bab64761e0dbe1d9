// Asks an agent in one stage, and answers in the next one.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle(_: NormalizedMessage, context: AgentContext): Promise<string> {
  context.stage('search')
  await context.call('@hook@agents.test', 'quoth')
  context.stage('write')
  return 'Found.'
}
