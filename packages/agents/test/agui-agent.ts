// Opens an `agui` agent whose server answers from a script.
import type { Json, NormalizedMessage, PartialResponse } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { collectAnswer } from '@postern/pipeline'
import { onTestFinished } from 'vitest'
import type { RunInput } from './agui-server.ts'
import { openAguiServer } from './agui-server.ts'
import { openTestAgent, testContext, testMessage } from './gateway.ts'
import type { ModelReply } from './model-server.ts'

interface Asked {
  readonly answer: PartialResponse | undefined
  readonly chunks: readonly PartialResponse[]
}

/** Opens an agent at an AG-UI server that answers from a script, in one conversation. */
export async function openAgui(
  script: readonly ModelReply[] | ((input: RunInput, index: number) => ModelReply),
  config = {},
  before?: Json,
) {
  const server = await openAguiServer((input, index) =>
    typeof script === 'function' ? script(input, index) : (script[index] ?? { status: 418 }),
  )
  onTestFinished(server.close)
  const { agent } = await openTestAgent({ use: 'ag-ui', url: server.url, ...config })
  let storedState = before
  const state = {
    get: async () => storedState,
    set: (value: Json) => (storedState = value),
  } as unknown as AgentContext['state']
  return {
    server,
    kept: () => storedState,
    async ask(message: string | NormalizedMessage = 'hello', overrides: Partial<AgentContext> = {}): Promise<Asked> {
      const chunks: PartialResponse[] = []
      const receivedMessage = typeof message === 'string' ? testMessage(message) : message
      const answer = await agent.handle(receivedMessage, testContext({ state, ...overrides }))
      return { answer: await collectAnswer(answer, chunk => void chunks.push(chunk)), chunks }
    },
  }
}
