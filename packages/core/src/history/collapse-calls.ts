import type { Part, ToolCallPart } from '../message/part.ts'

/**
 * The parts of an answer with each tool call once. Its end replaces its beginning, and keeps what only the beginning
 * had. A further call under the id of an ended one gets an id of its own, because calls are found by id.
 */
export function collapseCalls<Some extends Part>(parts: readonly Some[]): readonly Some[] {
  const collapsed: Some[] = []
  const places = new Map<string, number>()
  for (const part of parts) {
    const call: Part = part
    if (call.kind !== 'tool_call') {
      collapsed.push(part)
      continue
    }
    const place = places.get(call.id)
    const begun = place === undefined ? undefined : (collapsed[place] as Part as ToolCallPart)
    if (place !== undefined && begun && isOneCall(begun, call))
      collapsed[place] = joinHalves(begun, call) as Part as Some
    else {
      const id = place === undefined ? call.id : freeId(call.id, places)
      places.set(id, collapsed.length)
      collapsed.push(id === call.id ? part : ({ ...call, id } as Part as Some))
    }
  }
  return collapsed
}

function isOneCall(begun: ToolCallPart, call: ToolCallPart): boolean {
  return begun.name === call.name && !(hasEnded(begun) && hasEnded(call))
}

function hasEnded({ result, error }: ToolCallPart): boolean {
  return result !== undefined || error !== undefined
}

function joinHalves(begun: ToolCallPart, call: ToolCallPart): ToolCallPart {
  const known = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))
  return { ...begun, ...known } as ToolCallPart
}

function freeId(id: string, taken: ReadonlyMap<string, number>): string {
  for (let count = 2; ; count += 1) if (!taken.has(`${id}-${count}`)) return `${id}-${count}`
}
