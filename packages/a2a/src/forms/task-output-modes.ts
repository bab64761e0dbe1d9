// Stores the output modes that the caller of a task accepts, because calls that read a task do not name them.
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import type { TaskKey } from '@postern/pipeline'
import type { OutputConversion } from './output-conversion.ts'
import { chooseOutputConversion } from './output-conversion.ts'

const storeLimits = { ms: 24 * 3_600_000, tasks: 10_000 } as const

export type TaskOutputModes = ReturnType<typeof createTaskOutputModes>

export function createTaskOutputModes(system: Pick<System, 'now'>) {
  const acceptedModesByTask = createExpiringMap<readonly string[]>(storeLimits.tasks, () => system.now())
  const taskKeyOf = ({ owner, id }: TaskKey) => `${id} ${owner}`
  return {
    /** Stores the accepted modes if the call names any. @returns the conversion for this call */
    store(task: TaskKey, acceptedModes: readonly string[] | null | undefined): OutputConversion | undefined {
      const conversion = chooseOutputConversion(acceptedModes ?? [])
      if (conversion) acceptedModesByTask.set(taskKeyOf(task), acceptedModes ?? [], storeLimits.ms)
      return conversion
    },
    find: (task: TaskKey): OutputConversion | undefined =>
      chooseOutputConversion(acceptedModesByTask.get(taskKeyOf(task)) ?? []),
  }
}
