// Notices the steps of a message's transaction, so that its process may die there. A gateway must load it first.
import { Socket } from 'node:net'
import { StatementSync } from 'node:sqlite'
import { mortalMark, reachStep } from './crash-point.ts'

watchSqlite()
watchPostgres(Number(process.env.DYING_SERVER_PORT))

function watchSqlite(): void {
  let isInserted = false
  const { run } = StatementSync.prototype
  StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
    const isCommit = this.sourceSQL === 'COMMIT' && isInserted
    if (isCommit) reachStep('before the commit')
    const result = run.apply(this, values)
    if (isCommit) {
      isInserted = false
      reachStep('after the commit')
    } else if (isInsertion(this.sourceSQL) && values.some(value => String(value).includes(mortalMark))) {
      isInserted = true
      reachStep('before the agent gets the message')
    }
    return result
  } as typeof run
}

/** Watches the connections to the server by the messages of its protocol, version 3. The client writes each message by itself. */
function watchPostgres(port: number): void {
  const textsByName = new Map<string, string>()
  const [namedAt, insertedAt] = [new WeakSet<Socket>(), new WeakSet<Socket>()]
  const { write } = Socket.prototype
  Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
    if (this.remotePort === port) noteRequest(this, Buffer.from(args[0]))
    return write.apply(this, args)
  } as typeof write

  function noteRequest(socket: Socket, request: Buffer): void {
    const [first = '', second = ''] = request.toString('latin1', 5).split('\0')
    const type = String.fromCharCode(request[0] ?? 0)
    if (type === 'P') textsByName.set(first, second)
    if (type !== 'B') return
    const text = textsByName.get(second) ?? ''
    if (text === 'COMMIT' && insertedAt.has(socket)) reachStep('before the commit')
    if (!request.includes(mortalMark)) return
    namedAt.add(socket)
    if (isInsertion(text)) insertedAt.add(socket)
  }

  const { push } = Socket.prototype
  Socket.prototype.push = function (this: Socket, ...args: Parameters<typeof push>) {
    const [answer] = args as [Buffer | null]
    // The transaction looks for duplicates before the agent gets the message. The insertion may leave only with the answer.
    if (answer && namedAt.has(this)) reachStep('before the agent gets the message')
    if (answer?.includes('COMMIT\0') && insertedAt.delete(this)) reachStep('after the commit')
    return push.apply(this, args)
  }
}

function isInsertion(sql: string): boolean {
  return /^\s*INSERT INTO messages\b/.test(sql)
}
