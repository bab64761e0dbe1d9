// Runs a turn alone after its process has crashed, so that a second crash shows that the turn is the cause.
import type { System } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import { createOneByOne } from '../work-pool.ts'

interface IsolationDeps {
  readonly system: Pick<System, 'now' | 'sleep'>
  /** Aborts when running turns must end. */
  readonly abandoned: AbortSignal
  /** Returns true if a process has crashed during the turn. */
  isSuspect(turn: Turn): boolean
  /** Returns true if the turn waits for another agent. */
  isWaiting(turn: Turn): boolean
  /** Stores that the turn is the cause if the process crashes from now on. */
  noteAlone(turn: Turn): Promise<void>
  /** Runs when other turns may begin again. */
  onOpen(): void
}

/** The longest time for which other turns wait for one that runs alone, and for which that one waits for earlier turns, in ms. */
const maxAloneMs = 10_000

/**
 * Runs suspect turns one at a time. Between two of them other turns may begin, for as long as the earlier suspect ran, because a process that was
 * killed from outside leaves many suspects.
 */
export class TurnIsolation {
  readonly #deps: IsolationDeps
  readonly #running = new Set<Turn>()
  readonly #queued = new Set<Turn>()
  readonly #runOneByOne = createOneByOne()
  #isClosed = false
  #changed = Promise.withResolvers<void>()

  constructor(deps: IsolationDeps) {
    this.#deps = deps
    deps.abandoned.addEventListener('abort', () => this.noteChange(), { once: true })
  }

  /** True while other turns have to wait. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Returns true if a turn waits until it may run alone; it needs no slot until then. */
  isQueued(turn: Turn): boolean {
    return this.#queued.has(turn)
  }

  /** Checks again whether a turn may begin, because a turn has ended or waits for another agent. */
  noteChange(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  run(turn: Turn, work: () => Promise<void>): Promise<void> {
    if (!this.#deps.isSuspect(turn)) return this.#runBeside(turn, work)
    const finished = Promise.withResolvers<void>()
    this.#queued.add(turn)
    void this.#runOneByOne('suspects', () => this.#runApart(turn, work, finished))
    return finished.promise
  }

  async #runBeside(turn: Turn, work: () => Promise<void>): Promise<void> {
    while (this.#isClosed && !this.#deps.abandoned.aborted) await this.#changed.promise
    await this.#track(turn, work)
  }

  /** Runs the next suspect and resolves once another one may run; `done` settles with the turn. */
  async #runApart(turn: Turn, work: () => Promise<void>, finished: PromiseWithResolvers<void>): Promise<void> {
    const { system, abandoned, isWaiting, noteAlone, onOpen } = this.#deps
    this.#isClosed = true
    const startedAt = system.now()
    try {
      await this.#until(() => [...this.#running].every(isWaiting), maxAloneMs)
      if (!abandoned.aborted) await noteAlone(turn)
      this.#queued.delete(turn)
      this.#track(turn, work).then(finished.resolve, finished.reject)
      await this.#until(() => !this.#running.has(turn) || isWaiting(turn), maxAloneMs)
    } catch (error) {
      finished.reject(error)
    } finally {
      this.#queued.delete(turn)
      this.#isClosed = false
      this.noteChange()
      onOpen()
    }
    if (this.#queued.size > 0) await this.#until(() => false, system.now() - startedAt)
  }

  async #track(turn: Turn, work: () => Promise<void>): Promise<void> {
    this.#running.add(turn)
    try {
      await work()
    } finally {
      this.#running.delete(turn)
      this.noteChange()
    }
  }

  async #until(isTrue: () => boolean, maxMs: number): Promise<void> {
    const { system, abandoned } = this.#deps
    const sleepController = new AbortController()
    let isTimedOut = false
    const timeout = system.sleep(maxMs, AbortSignal.any([sleepController.signal, abandoned])).then(() => {
      isTimedOut = true
    })
    while (!isTrue() && !isTimedOut && !abandoned.aborted) await Promise.race([this.#changed.promise, timeout])
    sleepController.abort()
  }
}
