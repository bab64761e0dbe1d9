// Finds a Python with the official A2A SDK.
import { requireTools } from '../debian.ts'
import { openPythonEnvironments } from '../python-environment.ts'

const packages = ['a2a-sdk[http-server,signing]==1.3.0', 'uvicorn==0.54.0']

/** Returns the path of a Python that has the official SDK. @throws CannotRun */
export async function findA2aSdk(directory: string): Promise<string> {
  await requireTools()
  const createEnvironment = await openPythonEnvironments(directory)
  return (await createEnvironment('python', packages)).python
}
