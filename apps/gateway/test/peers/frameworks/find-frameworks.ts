// Creates Python environments with the foreign frameworks.
import { fileURLToPath } from 'node:url'
import { requireTools } from '../debian.ts'
import { openPythonEnvironments } from '../python-environment.ts'

/** The names of environments, each of which has a list of packages here. CrewAI needs another version of the SDK than the others. */
export type EnvironmentName = 'sdk-1' | 'crewai' | 'adk'

/** Returns a function that creates environments, and returns the directory that contains each under its name. */
export function findFrameworks(...names: readonly EnvironmentName[]): (directory: string) => Promise<string> {
  return async directory => {
    await requireTools()
    const createEnvironment = await openPythonEnvironments(directory)
    for (const name of names) {
      await createEnvironment(name, ['--requirements', fileURLToPath(new URL(`${name}.txt`, import.meta.url))])
    }
    return directory
  }
}
