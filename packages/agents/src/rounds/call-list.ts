import type { CallDelta } from '../completion/chunk.ts'

/** A call as the model wrote it. */
export interface WrittenCall {
  /** The model's own; empty when it gave none. */
  readonly id: string
  readonly name: string
  /** JSON, if the model did well. */
  readonly args: string
}

/** Joins calls that come in pieces, however a server splits them. */
interface CallList {
  add(delta: CallDelta): void
  readonly calls: readonly WrittenCall[]
}

const maxCalls = 32
const maxArgs = 256 * 1024

export function createCallList(): CallList {
  const calls: { id: string; name: string; args: string; readonly index: number | undefined }[] = []

  function begin({ index, id, function: named }: CallDelta) {
    if (calls.length === maxCalls) throw new Error(`The model calls more than ${maxCalls} tools at once`)
    const call = { id: id ?? '', name: named?.name ?? '', args: '', index: index ?? undefined }
    calls.push(call)
    return call
  }

  return {
    calls,
    add(delta) {
      const { index, function: said } = delta
      const last = typeof index === 'number' ? calls.findLast(call => call.index === index) : calls.at(-1)
      const call = last && !isAnother(delta, last) ? last : begin(delta)
      call.args += toArgs(said?.arguments)
      if (call.args.length > maxArgs) throw new Error('The model calls a tool with too large arguments')
    },
  }
}

/** Ollama gives each whole call index 0 or none. Only a name begins a call, because some servers repeat the id. */
function isAnother({ index, id, function: said }: CallDelta, last: WrittenCall): boolean {
  if (!said?.name) return false
  return id ? id !== last.id : typeof index !== 'number'
}

/** Some servers send the object itself. */
function toArgs(args: unknown): string {
  if (args === undefined || args === null) return ''
  return typeof args === 'string' ? args : JSON.stringify(args)
}
