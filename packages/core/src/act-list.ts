import type { Act } from './act.ts'
import { actSchema } from './act.ts'
import type { AgentActs } from './agent.ts'
import type { Part } from './part.ts'
import type { World } from './world.ts'
import { randomHex } from './world.ts'

/** What an agent does beside answering, gathered until its answer is committed. */
export interface ActList extends AgentActs {
  readonly done: readonly Act[]
}

/** More in one turn is a mistake. */
const maxActs = 50

export function createActList(world: Pick<World, 'randomBytes'>): ActList {
  const done: Act[] = []
  function add(act: Act): void {
    if (done.length >= maxActs) throw new Error(`an agent may do at most ${maxActs} things in one turn`)
    done.push(actSchema.parse(act))
  }
  return {
    done,
    post(content, options) {
      const id = randomHex(world, 16)
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
