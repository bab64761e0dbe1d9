// Answers with the OpenAI Agents SDK, streamed, with a tool.
import { Agent, assistant, run, tool, user } from '@openai/agents'
import { defineAgent, readMessageText } from 'postern'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city now',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 18, sky: 'clear' }),
})

const guide = new Agent({
  name: 'Guide',
  instructions: 'You answer in one or two sentences.',
  model: process.env.OPENAI_MODEL ?? 'gpt-5-mini',
  tools: [weather],
})

export default defineAgent({
  async *handle(message, context) {
    const history = (message.history ?? []).map(said =>
      (said.role === 'user' ? user : assistant)(readMessageText(said)),
    )
    const running = await run(guide, [...history, user(readMessageText(message))], {
      stream: true,
      signal: context.signal,
    })
    yield* running.toTextStream()
    await running.completed
  },
})
