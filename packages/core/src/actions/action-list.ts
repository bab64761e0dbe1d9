import type { AgentAction } from '../message/agent-action.ts'
import { agentActionSchema } from '../message/agent-action.ts'
import type { Part } from '../message/part.ts'
import type { AgentActions } from '../ports/agent/agent.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { makeId } from '../ports/platform/platform.ts'

/** The actions of an agent in a turn, gathered until its answer is committed. */
export interface ActionList extends AgentActions {
  readonly done: readonly AgentAction[]
}

/** More in one turn is a mistake. */
const maxActions = 50

export function createActionList(platform: Pick<Platform, 'now' | 'randomBytes'>): ActionList {
  const done: AgentAction[] = []
  function add(act: AgentAction): void {
    if (done.length >= maxActions) throw new Error(`an agent may do at most ${maxActions} things in one turn`)
    done.push(agentActionSchema.parse(act))
  }
  return {
    done,
    post(content, options) {
      const id = makeId(platform)
      add({ ...options, act: 'post', id, parts: toParts(content) })
      return id
    },
    edit: (response, content) => add({ act: 'edit', response, parts: toParts(content) }),
    delete: response => add({ act: 'delete', response }),
    react: (reaction, message) => add({ act: reaction, message }),
  }
}

/** A text is markdown. */
export function toParts(content: string | readonly Part[]): Part[] {
  return typeof content === 'string' ? [{ kind: 'text', mime: 'text/markdown', content }] : [...content]
}
