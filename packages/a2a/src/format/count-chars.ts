import type { WireMessage, WirePart, WireStreamEvent, WireTask } from './wire.ts'

/** The approximate length of parts as JSON, without writing it. Texts and bytes determine it. */
export function countPartChars(parts: readonly WirePart[]): number {
  let count = 0
  for (const { text, raw, url, data, metadata } of parts) {
    count += 64 + (text ?? raw ?? url ?? '').length
    if (data !== undefined) count += JSON.stringify(data).length
    if (metadata !== undefined) count += JSON.stringify(metadata).length
  }
  return count
}

/** The approximate length of a task as JSON. */
export function countTaskChars({ status, artifacts = [], history = [] }: WireTask): number {
  const messages: readonly (WireMessage | undefined)[] = [status.message, ...history]
  const lists = [...messages.map(message => message?.parts ?? []), ...artifacts.map(({ parts }) => parts)]
  return lists.reduce((sum, parts) => sum + countPartChars(parts), 256)
}

/** The approximate length of a stream's event as JSON. */
export function countEventChars(event: WireStreamEvent): number {
  if ('task' in event) return countTaskChars(event.task)
  if ('message' in event) return countPartChars(event.message.parts)
  if ('artifactUpdate' in event) return countPartChars(event.artifactUpdate.artifact.parts)
  return countPartChars(event.statusUpdate.status.message?.parts ?? [])
}
