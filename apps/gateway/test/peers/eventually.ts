// Waits for events of foreign programs.
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Polls until there is an answer. @throws Error saying that `label` has not happened within `timeoutMs` */
export async function waitUntil<Value>(
  label: string,
  findValue: () => Promise<Value | undefined> | Value | undefined,
  // The default is generous, because a busy machine is several times slower. It only ends operations that hang. (same sentence at
  // `run-command.ts:19`)
  timeoutMs = 120_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const value = await findValue()
    if (value) return value
    if (Date.now() > deadline) throw new Error(`${label}: not within ${timeoutMs / 1_000} s`)
    await delay(100)
  }
}

/** Resolves to true if a program listens on a port of this machine, or else to undefined. */
export function canConnect(port: number): Promise<true | undefined> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(undefined))
    socket.once('connect', () => socket.destroy())
  })
}
