// Serves health checks and reflection over gRPC without credentials.
import type { Server } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation } from 'grpc-health-check'
import { writeServiceFiles } from './service-descriptor.ts'

type ServiceDescription = ConstructorParameters<typeof ReflectionService>[0]

const serviceName = 'lf.a2a.v1.A2AService'
const openPathPattern = /^\/grpc\.(health\.v1\.Health|reflection\.v1(alpha)?\.ServerReflection)\//

/** Returns true if a call of this path requires no credentials. */
export function isOpenService(path: string): boolean {
  return openPathPattern.test(path)
}

/** Adds both services. @returns the function that tells clients that the listener closes */
export function addOpenServices(server: Server): () => void {
  const health = new HealthImplementation({ '': 'SERVING', [serviceName]: 'SERVING' })
  health.addToServer(server)
  // The library reads only the files of a package.
  const description = { [serviceName]: { fileDescriptorProtos: writeServiceFiles() } } as unknown as ServiceDescription
  new ReflectionService(description).addToServer(server)
  return () => {
    for (const name of ['', serviceName]) health.setStatus(name, 'NOT_SERVING')
  }
}
