// Opens an `openai` agent whose model answers from a script.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { collectAnswer } from '@postern/pipeline'
import { onTestFinished } from 'vitest'
import type { AgentGatewayOptions } from './gateway.ts'
import { openTestAgent, testContext, testMessage } from './gateway.ts'
import type { Complete, ModelReply } from './model-server.ts'
import { openModelServer } from './model-server.ts'

interface ModelAgentOptions extends AgentGatewayOptions {
  readonly config?: Readonly<Record<string, unknown>>
}

/** Opens an agent of the kind `openai` whose model answers from a script. */
export async function openModelAgent(
  script: Complete | readonly ModelReply[],
  { config, ...options }: ModelAgentOptions = {},
) {
  const complete =
    typeof script === 'function' ? script : (_: unknown, index: number) => script[index] ?? { status: 418 }
  const server = await openModelServer(complete)
  onTestFinished(server.close)
  const opened = await openTestAgent(
    { use: 'openai', base_url: server.baseUrl, model: 'test-model', show_tools: true, ...config },
    options,
  )
  onTestFinished(opened.close)
  return {
    server,
    close: opened.close,
    async ask(
      message: string | NormalizedMessage = 'hello',
      context: Partial<AgentContext> = {},
      hear: (chunk: PartialResponse) => void = () => {},
    ) {
      const chunks: PartialResponse[] = []
      const receivedMessage = typeof message === 'string' ? testMessage(message) : message
      const answer = await opened.agent.handle(receivedMessage, testContext(context))
      const onChunk = (chunk: PartialResponse) => {
        chunks.push(chunk)
        hear(chunk)
      }
      return { answer: await collectAnswer(answer, onChunk), chunks }
    },
  }
}

export function textOfAnswer(answer: PartialResponse | undefined): string {
  return (answer?.parts ?? []).map(part => (part.kind === 'text' ? part.content : '')).join('|')
}
