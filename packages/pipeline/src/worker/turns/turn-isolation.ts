// Runs a turn alone after its process has crashed, so that a second crash shows that the turn is the cause.
import type { System } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { callAfter } from './call-after.ts'

interface IsolationDeps {
  readonly system: Pick<System, 'now' | 'sleep'>
  /** Aborts when running turns must end. */
  readonly abandonSignal: AbortSignal
  /** Returns true if a process has crashed during the turn. */
  isSuspect(turn: Turn): boolean
  /** Returns true if the turn waits for another agent. */
  isWaiting(turn: Turn): boolean
  /** Stores that the turn is the cause if the process crashes from now on. */
  noteAlone(turn: Turn): Promise<void>
  /** Runs when other turns may begin again. */
  onOpen(): void
}

/** The longest time for which other turns wait for a turn that runs alone, and for which that turn waits for earlier turns, in ms. */
const maxAloneMs = 10_000

/**
 * Runs suspect turns one at a time. Between two suspects other turns may begin, for as long as the earlier suspect ran, because a process that
 * was killed from outside leaves many suspects.
 */
export class TurnIsolation {
  readonly #deps: IsolationDeps
  readonly #runningTurns = new Set<Turn>()
  readonly #queuedTurns = new Set<Turn>()
  readonly #runOneByOne = createKeyedQueue()
  #isClosed = false
  #change: PromiseWithResolvers<void> | undefined

  constructor(deps: IsolationDeps) {
    this.#deps = deps
    deps.abandonSignal.addEventListener('abort', () => this.noteChange(), { once: true })
  }

  /** True while other turns have to wait. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Returns true if a turn waits until it may run alone; it needs no slot until then. */
  isQueued(turn: Turn): boolean {
    return this.#queuedTurns.has(turn)
  }

  /** Checks again whether a turn may begin, because a turn has ended or waits for another agent. */
  noteChange(): void {
    this.#change?.resolve()
    this.#change = undefined
  }

  #waitForChange(): Promise<void> {
    this.#change ??= Promise.withResolvers()
    return this.#change.promise
  }

  run(turn: Turn, work: () => Promise<void>): Promise<void> {
    if (!this.#deps.isSuspect(turn)) return this.#isClosed ? this.#runWhenOpen(turn, work) : this.#track(turn, work)
    const finished = Promise.withResolvers<void>()
    this.#queuedTurns.add(turn)
    void this.#runOneByOne('suspects', () => this.#runAlone(turn, work, finished))
    return finished.promise
  }

  async #runWhenOpen(turn: Turn, work: () => Promise<void>): Promise<void> {
    while (this.#isClosed && !this.#deps.abandonSignal.aborted) await this.#waitForChange()
    await this.#track(turn, work)
  }

  /** Runs the next suspect and resolves once another suspect may run. `finished` settles with the turn. */
  async #runAlone(turn: Turn, work: () => Promise<void>, finished: PromiseWithResolvers<void>): Promise<void> {
    const { system, abandonSignal, isWaiting, noteAlone, onOpen } = this.#deps
    this.#isClosed = true
    const startedAt = system.now()
    try {
      await this.#waitUntil(() => [...this.#runningTurns].every(isWaiting), maxAloneMs)
      if (!abandonSignal.aborted) await noteAlone(turn)
      this.#queuedTurns.delete(turn)
      this.#track(turn, work).then(finished.resolve, finished.reject)
      await this.#waitUntil(() => !this.#runningTurns.has(turn) || isWaiting(turn), maxAloneMs)
    } catch (error) {
      finished.reject(error)
    } finally {
      this.#queuedTurns.delete(turn)
      this.#isClosed = false
      this.noteChange()
      onOpen()
    }
    if (this.#queuedTurns.size > 0) await this.#waitUntil(() => false, system.now() - startedAt)
  }

  #track(turn: Turn, work: () => Promise<void>): Promise<void> {
    this.#runningTurns.add(turn)
    return callAfter(work(), () => {
      this.#runningTurns.delete(turn)
      this.noteChange()
    })
  }

  async #waitUntil(isFulfilled: () => boolean, maxMs: number): Promise<void> {
    const { system, abandonSignal } = this.#deps
    const sleepController = new AbortController()
    let isTimedOut = false
    const timeout = system.sleep(maxMs, AbortSignal.any([sleepController.signal, abandonSignal])).then(() => {
      isTimedOut = true
    })
    while (!isFulfilled() && !isTimedOut && !abandonSignal.aborted) await Promise.race([this.#waitForChange(), timeout])
    sleepController.abort()
  }
}
