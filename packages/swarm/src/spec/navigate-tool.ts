// Creates the tools with which a model hands a conversation over to another agent.
import type { SwarmTool, SwarmToolContext } from './swarm.ts'

interface HandOverOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** Returns the message for the next agent from the user's last message. Default: the user's last message. */
  readonly handOver?: ((lastUserMessage: string) => string) | undefined
  /** The answer that replaces a hand-over, so that the next agent waits for the user. */
  readonly answer?: string | undefined
  /** The text that is sent if the hand-over fails. */
  readonly repeat?: string | undefined
}

interface NavigateOptions extends HandOverOptions {
  /** The next agent. The default name of the tool is `navigate_to_<to>`. */
  readonly to: string
}

/**
 * Creates a tool with which a model hands a conversation over. The tool stops the other calls, ends its own call, and changes the agent, which then
 * continues. If the change fails, it flushes the history and asks the user to repeat.
 */
export function createNavigateTool(options: NavigateOptions): SwarmTool {
  const { to, name = `navigate_to_${to}`, description = `Hands the conversation over to ${to}` } = options
  return createHandOverTool(
    { ...options, name, description },
    {
      change: context => context.changeToAgent(to),
      formatToolOutput: ({ agentName }) => `Navigated from ${agentName} to ${to}`,
    },
  )
}

/** Creates a tool that hands the conversation back to the previous agent, or to the default agent if there is none. */
export function createNavigateBackTool(options: HandOverOptions = {}): SwarmTool {
  const { name = 'navigate_back', description = 'Hands the conversation back to whoever had it before' } = options
  return createHandOverTool(
    { ...options, name, description },
    {
      change: context => context.changeToPrevious(),
      formatToolOutput: ({ agentName }) => `Navigated back from ${agentName}`,
    },
  )
}

function createHandOverTool(
  options: HandOverOptions & Pick<SwarmTool, 'name' | 'description'>,
  {
    change,
    formatToolOutput,
  }: { change(context: SwarmToolContext): Promise<boolean>; formatToolOutput(context: SwarmToolContext): string },
): SwarmTool {
  const { name, description } = options
  return {
    name,
    description,
    parameters: { type: 'object', properties: {} },
    isNavigation: true,
    async call(context) {
      await context.commitStopTools()
      await context.commitToolOutput(formatToolOutput(context))
      if (await change(context).catch(() => false)) continueTurn(context, options)
      else await askToRepeat(context, options)
    },
  }
}

function continueTurn(context: SwarmToolContext, { answer, handOver = text => text }: HandOverOptions): void {
  if (answer === undefined) context.execute(handOver(context.lastUserMessage))
  else context.emit(answer)
}

async function askToRepeat(
  context: SwarmToolContext,
  { repeat = 'Please repeat what you would like.' }: HandOverOptions,
): Promise<void> {
  await context.commitFlush()
  context.emit(repeat)
}
