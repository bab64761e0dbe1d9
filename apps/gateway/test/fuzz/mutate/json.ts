// Changes JSON at random, in its values and its notation.
import { makeOddJson, makeOddText } from '../values/odd-values.ts'
import type { Random } from '../values/random.ts'

type Container = Record<string, unknown>

interface Spot {
  readonly parent: Container
  readonly key: string
}

/** Placeholders for text that no JavaScript value produces, such as a repeated member. */
interface Holes {
  /** Returns a value that stands for this notation in the tree. */
  value(notation: string): string
  /** Returns a name that stands for this member in an object. */
  member(notation: string): string
  fill(text: string): string
}

function createHoles(): Holes {
  const notations: string[] = []
  const open = (kind: string, notation: string) => `\u0001${kind}${notations.push(notation) - 1}\u0001`
  return {
    value: notation => open('v', notation),
    member: notation => open('m', notation),
    fill: text =>
      text.replace(/"\\u0001(?:v(\d+)\\u0001"|m(\d+)\\u0001":0)/g, (_, value, member) =>
        String(notations[Number(value ?? member)]),
      ),
  }
}

type Change = (spot: Spot, random: Random, holes: Holes, allSpots: readonly Spot[]) => void

const changes: readonly Change[] = [
  ({ parent, key }, random, holes) => {
    parent[key] = holes.value(makeOddJson(random))
  },
  ({ parent, key }) => {
    delete parent[key]
  },
  ({ parent, key }, random, holes) => {
    if (!Array.isArray(parent)) parent[holes.member(`${JSON.stringify(key)}:${makeOddJson(random)}`)] = 0
  },
  ({ parent, key }, _, holes) => {
    if (!Array.isArray(parent)) parent[holes.member(`${escapeAll(key)}:${JSON.stringify(parent[key]) ?? null}`)] = 0
  },
  ({ parent }, random, holes) => {
    const name = JSON.stringify(makeOddText(random))
    if (!Array.isArray(parent)) parent[holes.member(`${name}:${makeOddJson(random)}`)] = 0
  },
  ({ parent, key }, random) => {
    parent[key] = random.chance(0.5) ? [parent[key]] : { value: parent[key] }
  },
  ({ parent, key }, random) => {
    parent[key] = Array.from({ length: random.pick([0, 2, 100]) }, () => structuredClone(parent[key]))
  },
  ({ parent, key }, random, _, allSpots) => {
    const otherSpot = random.pick(allSpots)
    parent[key] = structuredClone(otherSpot.parent[otherSpot.key])
  },
  ({ parent, key }, random) => {
    if (typeof parent[key] === 'string') parent[key] += makeOddText(random)
  },
]

/** Escapes every character of a name, such as `"id"` as `"\u0069\u0064"`. */
function escapeAll(name: string): string {
  return `"${[...name].map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
}

function listSpots(parent: unknown): readonly Spot[] {
  if (typeof parent !== 'object' || parent === null) return []
  const container = parent as Container
  return Object.keys(container).flatMap(key => [{ parent: container, key }, ...listSpots(container[key])])
}

/** Returns the notation of the value after one to three changes of its shape. */
export function mutateJson(value: unknown, random: Random): string {
  const root = { root: structuredClone(value) }
  const holes = createHoles()
  for (let remainingCount = 1 + random.integerBelow(3); remainingCount > 0; remainingCount -= 1) {
    const spots = listSpots(root)
    if (spots.length === 0) break
    // A change of the whole value counts like a change of any other position.
    random.pick(changes)(random.pick(spots), random, holes, spots)
  }
  return holes.fill(JSON.stringify(root.root) ?? '')
}
