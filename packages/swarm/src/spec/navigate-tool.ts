import type { SwarmTool, SwarmToolContext } from './swarm.ts'

interface NavigateOptions extends Partial<Pick<SwarmTool, 'name' | 'description'>> {
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
    { name, description },
    {
      change: context => context.changeToAgent(to),
      tell: ({ agentName }) => `Navigated from ${agentName} to ${to}`,
    },
  )
}

/** Hands the conversation back to the previous agent, and finally to the default one. */
export function createNavigateBackTool(): SwarmTool {
  return createHandOverTool(
    { name: 'navigate_back', description: 'Hands the conversation back to whoever had it before' },
    {
      change: context => context.changeToPrevious(),
      tell: ({ agentName }) => `Navigated back from ${agentName}`,
    },
  )
}

function createHandOverTool(
  named: Pick<SwarmTool, 'name' | 'description'>,
  { change, tell }: { change(context: SwarmToolContext): Promise<boolean>; tell(context: SwarmToolContext): string },
): SwarmTool {
  return {
    ...named,
    parameters: { type: 'object', properties: {} },
    isNavigation: true,
    async call(context) {
      await context.commitStopTools()
      await context.commitToolOutput(tell(context))
      if (await change(context).catch(() => false)) return context.execute(context.lastUserMessage)
      await context.commitFlush()
      context.emit('Please repeat what you would like.')
    },
  }
}
