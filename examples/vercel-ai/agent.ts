// Answers with the Vercel AI SDK, which gets the whole conversation each time.
import { openai } from '@ai-sdk/openai'
import { stepCountIs, streamText, tool } from 'ai'
import { defineAgent, readMessageText } from 'postern'
import { z } from 'zod'

const weather = tool({
  description: 'The weather of a city now',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 18, sky: 'clear' }),
})

/** The AI SDK stores nothing between calls, so the gateway sends the conversation with each message. */
export default defineAgent({
  async *handle(message, context) {
    const { fullStream } = streamText({
      model: openai(process.env.OPENAI_MODEL ?? 'gpt-5-mini'),
      system: 'You answer in one or two sentences.',
      messages: [...(message.history ?? []), message].map(entry => ({
        role: 'role' in entry ? entry.role : 'user',
        content: readMessageText(entry),
      })),
      tools: { weather },
      stopWhen: stepCountIs(5),
      abortSignal: context.signal,
    })
    for await (const part of fullStream) {
      if (part.type === 'text-delta') yield part.text
      if (part.type === 'error') throw part.error
    }
  },
})
