import type { SwarmTool, SwarmToolContext } from './swarm.ts'

interface HandOverOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** The message for the next agent, made from the user's last one. Absent: the user's own text. */
  readonly handOver?: ((lastUserMessage: string) => string) | undefined
  /** Answers with this text in place of a hand-over, and the next agent waits for the user. */
  readonly answer?: string | undefined
  /** The text if the hand-over fails. */
  readonly repeat?: string | undefined
}

interface NavigateOptions extends HandOverOptions {
  /** The next agent. The tool's name is `navigate_to_<to>` by default. */
  readonly to: string
}

/**
 * A tool with which a model hands a conversation over. It stops the other calls, ends its own call, changes the agent, and lets the new one
 * continue. If the change fails, it flushes the history and asks the user to repeat.
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

/** Hands the conversation back to the previous agent, and finally to the default one. */
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

function createHandOverTool(
  options: HandOverOptions & Pick<SwarmTool, 'name' | 'description'>,
  { change, tell }: { change(context: SwarmToolContext): Promise<boolean>; tell(context: SwarmToolContext): string },
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
