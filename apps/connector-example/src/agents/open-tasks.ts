// Keeps the open A2A tasks of each room, so that later answers are shown in the right entry.
import { hash, randomBytes } from 'node:crypto'
import type { FinishedAnswer } from '@postern/a2a'
import type { ConnectorConfig } from '../config.ts'
import { callbackPath } from '../issuer/key-ring.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { KnownAgent } from './agent-client.ts'

/** A task at an agent, for as long as it may still get an answer. */
export interface OpenTask {
  readonly room: string
  readonly address: string
  /** The owner of the task; absent if an agent began it. */
  readonly person: RoomPerson | undefined
  /** The secret that the agent shows when it reports that the task continues. */
  readonly token: string
  taskId: string | undefined
  /** The entry that shows its last answer, and the answer shown. */
  entryId: string | undefined
  shownDigest: string | undefined
  isBusy: boolean
  isWatched: boolean
}

type TaskKey = Pick<OpenTask, 'room' | 'address' | 'person'> & { readonly taskId?: string | undefined }

interface TaskOutcome {
  readonly answer: FinishedAnswer
  readonly entryId: string
  readonly isWaiting: boolean
  /** True if it waits for an answer in text: the person's next message to this agent continues it. */
  readonly isQuestion: boolean
}

export interface OpenTasks {
  /** Returns the named task, or the one that waits for this person's text, or else a new one, and marks it as busy. */
  findOrCreate(taskKey: TaskKey): OpenTask
  /** Returns the `SendMessageConfiguration` with our callback, once for each task. */
  configure(task: OpenTask, agent: KnownAgent): Readonly<Record<string, unknown>> | undefined
  settle(task: OpenTask, outcome: TaskOutcome): void
  /** Frees the task after a failed call. */
  fail(task: OpenTask): void
  findTask(token: string): OpenTask | undefined
  /** Returns true if this answer has not been shown. */
  isNewAnswer(task: OpenTask, answer: FinishedAnswer): boolean
}

const maxTasks = 2_000

export function createOpenTasks({ origin }: Pick<ConnectorConfig, 'origin'>): OpenTasks {
  const tasksByToken = new Map<string, OpenTask>()
  const questions = new Map<string, OpenTask>()
  const digest = ({ parts, status }: FinishedAnswer) => hash('sha256', JSON.stringify([status, parts]))

  function findByKey({ room, address, person, taskId }: TaskKey): OpenTask | undefined {
    if (taskId === undefined) return questions.get(questionKey({ room, address, person }))
    return [...tasksByToken.values()].find(task => task.taskId === taskId && task.address === address)
  }

  function createTask({ room, address, person, taskId }: TaskKey): OpenTask {
    const token = randomBytes(24).toString('base64url')
    const state = { taskId, entryId: undefined, shownDigest: undefined, isBusy: false, isWatched: false }
    const task: OpenTask = { room, address, person, token, ...state }
    tasksByToken.set(token, task)
    const [oldest] = tasksByToken.values()
    if (tasksByToken.size > maxTasks && oldest) forget(oldest)
    return task
  }

  function forget(task: OpenTask): void {
    tasksByToken.delete(task.token)
    const key = questionKey(task)
    if (questions.get(key) === task) questions.delete(key)
  }

  return {
    findOrCreate(taskKey) {
      const existingTask = findByKey(taskKey)
      const task =
        existingTask && !(existingTask.isBusy && taskKey.taskId === undefined) ? existingTask : createTask(taskKey)
      task.isBusy = true
      return task
    },
    configure(task, { canPush }) {
      if (!canPush || task.isWatched) return undefined
      task.isWatched = true
      return { taskPushNotificationConfig: { url: origin + callbackPath, token: task.token } }
    },
    settle(task, { answer, entryId, isWaiting, isQuestion }) {
      Object.assign(task, { taskId: answer.taskId, entryId, shownDigest: digest(answer), isBusy: false })
      if (!isWaiting) forget(task)
      else if (isQuestion) questions.set(questionKey(task), task)
      else questions.delete(questionKey(task))
    },
    fail(task) {
      task.isBusy = false
      if (task.entryId === undefined) forget(task)
    },
    findTask: token => tasksByToken.get(token),
    isNewAnswer: (task, answer) => task.shownDigest !== digest(answer),
  }
}

function questionKey({ room, address, person }: TaskKey): string {
  return JSON.stringify([room, address, person?.id])
}
