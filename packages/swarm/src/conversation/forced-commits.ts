import type { CommitOptions, SwarmCommits } from './commits.ts'

/** Commits that do not check whether their agent is active. */
type ForcedCommits = { readonly [Name in keyof SwarmCommits as `${Name}Force`]: SwarmCommits[Name] }

/** Every commit and its `…Force`. */
export type AllCommits = SwarmCommits & ForcedCommits

export function addForcedCommits(commits: SwarmCommits, activeAgent: () => string): AllCommits {
  const force = <Options extends CommitOptions>(options: Options | undefined) => {
    return { ...options, agentName: options?.agentName ?? activeAgent(), isForced: true }
  }
  return {
    ...commits,
    commitUserMessageForce: (content, mode, options) => commits.commitUserMessage(content, mode, force(options)),
    commitAssistantMessageForce: (content, options) => commits.commitAssistantMessage(content, force(options)),
    commitSystemMessageForce: (content, options) => commits.commitSystemMessage(content, force(options)),
    commitDeveloperMessageForce: (content, options) => commits.commitDeveloperMessage(content, force(options)),
    commitToolRequestForce: (requests, options) => commits.commitToolRequest(requests, force(options)),
    commitToolCallsForce: (content, calls, options) => commits.commitToolCalls(content, calls, force(options)),
    commitToolOutputForce: (toolId, content, options) => commits.commitToolOutput(toolId, content, force(options)),
    commitFlushForce: options => commits.commitFlush(force(options)),
    commitStopToolsForce: options => commits.commitStopTools(force(options)),
    commitCancelOutputForce: options => commits.commitCancelOutput(force(options)),
    commitAgentChangeForce: options => commits.commitAgentChange(force(options)),
    commitRescueForce: (reason, restart, options) => commits.commitRescue(reason, restart, force(options)),
  }
}
