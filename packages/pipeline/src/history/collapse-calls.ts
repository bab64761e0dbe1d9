// Joins the beginning and the end of each tool call in an answer.

import type { Part, ToolCallPart } from '@postern/message'

/**
 * Returns the parts of an answer with each tool call once. The end of a call replaces its beginning, and keeps members that only the beginning had.
 * A further call with the id of an ended one gets a new id, because calls are found by their ids.
 */
export function collapseCalls<SomePart extends Part>(parts: readonly SomePart[]): readonly SomePart[] {
  const collapsedParts: SomePart[] = []
  const indexes = new Map<string, number>()
  for (const part of parts) {
    const call: Part = part
    if (call.kind !== 'tool_call') {
      collapsedParts.push(part)
      continue
    }
    const index = indexes.get(call.id)
    const startedCall = index === undefined ? undefined : (collapsedParts[index] as Part as ToolCallPart)
    if (index !== undefined && startedCall && isOneCall(startedCall, call))
      collapsedParts[index] = joinHalves(startedCall, call) as Part as SomePart
    else {
      const id = index === undefined ? call.id : findFreeId(call.id, indexes)
      indexes.set(id, collapsedParts.length)
      collapsedParts.push(id === call.id ? part : ({ ...call, id } as Part as SomePart))
    }
  }
  return collapsedParts
}

function isOneCall(startedCall: ToolCallPart, call: ToolCallPart): boolean {
  return startedCall.name === call.name && !(hasEnded(startedCall) && hasEnded(call))
}

function hasEnded({ result, error }: ToolCallPart): boolean {
  return result !== undefined || error !== undefined
}

function joinHalves(startedCall: ToolCallPart, call: ToolCallPart): ToolCallPart {
  const definedMembers = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))
  return { ...startedCall, ...definedMembers } as ToolCallPart
}

function findFreeId(id: string, usedIds: ReadonlyMap<string, number>): string {
  for (let count = 2; ; count += 1) if (!usedIds.has(`${id}-${count}`)) return `${id}-${count}`
}
