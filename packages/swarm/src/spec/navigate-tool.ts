import type { SwarmTool, SwarmToolContext } from './tool.ts'

interface HandOverOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** What the next agent is told, made of what the user said last; absent: the user's own words. */
  readonly handOver?: ((lastUserMessage: string) => string) | undefined
  /** Instead of a hand-over: this is the answer, and the next agent waits for the user. */
  readonly answer?: string | undefined
  /** When the hand-over cannot be. */
  readonly repeat?: string | undefined
}

interface NavigateOptions extends HandOverOptions {
  /** The agent it hands over to. The tool's name: default `navigate_to_<to>`. */
  readonly to: string
}

/**
 * A tool by which a model hands a conversation over: stops the other calls, ends its own call, changes the agent, and lets the new one go
 * on. Where the change cannot be, the history is flushed and the user asked to repeat.
 */
export function createNavigateTool(options: NavigateOptions): SwarmTool {
  const { to, name = `navigate_to_${to}`, description = `Hands the conversation over to ${to}` } = options
  return createHandOverTool(
    { ...options, name, description },
    {
      change: context => context.changeToAgent(to),
      tell: ({ agentName }) => `Navigated from ${agentName} to ${to}`,
    },
  )
}

/** The same back to who had the conversation before, and in the end to the default agent. */
export function createNavigateBackTool(options: HandOverOptions = {}): SwarmTool {
  const { name = 'navigate_back', description = 'Hands the conversation back to whoever had it before' } = options
  return createHandOverTool(
    { ...options, name, description },
    {
      change: context => context.changeToPrevious(),
      tell: ({ agentName }) => `Navigated back from ${agentName}`,
    },
  )
}

interface HandOver {
  change(context: SwarmToolContext): Promise<boolean>
  tell(context: SwarmToolContext): string
}

function createHandOverTool(
  options: HandOverOptions & Pick<SwarmTool, 'name' | 'description'>,
  { change, tell }: HandOver,
): SwarmTool {
  const { name, description } = options
  return {
    name,
    description,
    parameters: { type: 'object', properties: {} },
    isNavigation: true,
    async call(context) {
      await context.commitStopTools()
      await context.commitToolOutput(tell(context))
      if (await change(context).catch(() => false)) goOn(context, options)
      else await askToRepeat(context, options)
    },
  }
}

function goOn(context: SwarmToolContext, { answer, handOver = words => words }: HandOverOptions): void {
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
