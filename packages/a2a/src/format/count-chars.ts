import type { WireMessage, WirePart, WireStreamEvent, WireTask } from './wire.ts'

/** About how long parts are as JSON, without writing them: what makes them long are texts and bytes. */
export function countPartChars(parts: readonly WirePart[]): number {
  let count = 0
  for (const { text, raw, url, data, metadata } of parts) {
    count += 64 + (text ?? raw ?? url ?? '').length
    if (data !== undefined) count += JSON.stringify(data).length
    if (metadata !== undefined) count += JSON.stringify(metadata).length
  }
  return count
}

/** About how long a task is as JSON. */
export function countTaskChars({ status, artifacts = [], history = [] }: WireTask): number {
  const messages: readonly (WireMessage | undefined)[] = [status.message, ...history]
  const lists = [...messages.map(message => message?.parts ?? []), ...artifacts.map(({ parts }) => parts)]
  return lists.reduce((sum, parts) => sum + countPartChars(parts), 256)
}

/** About how long an event of a stream is as JSON. */
export function countEventChars(event: WireStreamEvent): number {
  if ('task' in event) return countTaskChars(event.task)
  if ('message' in event) return countPartChars(event.message.parts)
  if ('artifactUpdate' in event) return countPartChars(event.artifactUpdate.artifact.parts)
  return countPartChars(event.statusUpdate.status.message?.parts ?? [])
}
