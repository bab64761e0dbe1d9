// Answers with a LangGraph graph that keeps the state of each thread.
import { AIMessageChunk, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { defineAgent, readMessageText } from 'postern'
import { z } from 'zod'

const weather = tool(async ({ city }) => JSON.stringify({ city, celsius: 18, sky: 'clear' }), {
  name: 'weather',
  description: 'The weather of a city now',
  schema: z.object({ city: z.string() }),
})

const model = new ChatOpenAI({ model: process.env.OPENAI_MODEL ?? 'gpt-5-mini' }).bindTools([weather])

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode([weather]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile({ checkpointer: new MemorySaver() })

/** The graph stores its own state of each thread, so it gets only the new message. */
export default defineAgent({
  async *handle(message, context) {
    const input = { messages: [new HumanMessage(readMessageText(message))] }
    const options = { configurable: { thread_id: message.thread_id }, signal: context.signal }
    for await (const [said] of await graph.stream(input, { ...options, streamMode: 'messages' })) {
      if (AIMessageChunk.isInstance(said)) yield said.text
    }
  },
})
