// Handles the signals that a service manager, a terminal or an operator sends to a gateway.
import { closeSync, openSync } from 'node:fs'
import type { Log } from '@postern/message'

/**
 * Stops on SIGINT and SIGTERM, within ten seconds. SIGHUP only logs a warning. Other programs reload their configuration on
 * SIGHUP, and the gateway does not.
 */
export function handleSignals(stop: () => Promise<void>, log: Log): void {
  let isStopping = false
  const stopOnce = async (signal: string) => {
    if (isStopping) return
    isStopping = true
    log.info({ signal }, 'stopping')
    const exitTimer = setTimeout(() => process.exit(1), 10_000)
    await stop().catch(error => log.error({ err: error }, 'stopping failed'))
    clearTimeout(exitTimer)
    process.exit(process.exitCode ?? 0)
  }
  const hadTerminal = hasTerminal()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void stopOnce(signal))
  process.on('SIGHUP', () => {
    // The kernel also sends SIGHUP when the terminal closes. A gateway that kept running would keep its port.
    if (hadTerminal && !hasTerminal()) return void stopOnce('SIGHUP')
    const fix = 'Restart the gateway to apply a changed configuration. "postern dev" applies changes without a restart.'
    log.warn({ signal: 'SIGHUP', fix }, 'the gateway does not read its configuration again while it runs')
  })
}

/** Returns true if the process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
