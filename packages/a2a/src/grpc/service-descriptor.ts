// Describes the service `lf.a2a.v1.A2AService` (A2A §10) for clients that use reflection.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import type { DescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_empty,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'

const packageName = 'lf.a2a.v1'
const structType = 'google.protobuf.Struct'
const timestampType = 'google.protobuf.Timestamp'

/**
 * The fields of each message of the service, as `name:number:type`. A type ends with `*` if the field is repeated, with `?` if it is optional, and
 * with `|name` if it belongs to that oneof. `map<type>` has string keys.
 */
const messageFields: Readonly<Record<string, string>> = {
  SendMessageConfiguration:
    'accepted_output_modes:1:string* task_push_notification_config:2:TaskPushNotificationConfig history_length:3:int32? return_immediately:4:bool',
  Task: `id:1:string context_id:2:string status:3:TaskStatus artifacts:4:Artifact* history:5:Message* metadata:6:${structType}`,
  TaskStatus: `state:1:TaskState message:2:Message timestamp:3:${timestampType}`,
  Part: `text:1:string|content raw:2:bytes|content url:3:string|content data:4:google.protobuf.Value|content metadata:5:${structType} filename:6:string media_type:7:string`,
  Message: `message_id:1:string context_id:2:string task_id:3:string role:4:Role parts:5:Part* metadata:6:${structType} extensions:7:string* reference_task_ids:8:string*`,
  Artifact: `artifact_id:1:string name:2:string description:3:string parts:4:Part* metadata:5:${structType} extensions:6:string*`,
  TaskStatusUpdateEvent: `task_id:1:string context_id:2:string status:3:TaskStatus metadata:4:${structType}`,
  TaskArtifactUpdateEvent: `task_id:1:string context_id:2:string artifact:3:Artifact append:4:bool last_chunk:5:bool metadata:6:${structType}`,
  AuthenticationInfo: 'scheme:1:string credentials:2:string',
  AgentInterface: 'url:1:string protocol_binding:2:string tenant:3:string protocol_version:4:string',
  AgentCard:
    'name:1:string description:2:string supported_interfaces:3:AgentInterface* provider:4:AgentProvider version:5:string documentation_url:6:string? capabilities:7:AgentCapabilities security_schemes:8:map<SecurityScheme> security_requirements:9:SecurityRequirement* default_input_modes:10:string* default_output_modes:11:string* skills:12:AgentSkill* signatures:13:AgentCardSignature* icon_url:14:string?',
  AgentProvider: 'url:1:string organization:2:string',
  AgentCapabilities:
    'streaming:1:bool? push_notifications:2:bool? extensions:3:AgentExtension* extended_agent_card:4:bool?',
  AgentExtension: `uri:1:string description:2:string required:3:bool params:4:${structType}`,
  AgentSkill:
    'id:1:string name:2:string description:3:string tags:4:string* examples:5:string* input_modes:6:string* output_modes:7:string* security_requirements:8:SecurityRequirement*',
  AgentCardSignature: `protected:1:string signature:2:string header:3:${structType}`,
  TaskPushNotificationConfig:
    'tenant:1:string id:2:string task_id:3:string url:4:string token:5:string authentication:6:AuthenticationInfo',
  StringList: 'list:1:string*',
  SecurityRequirement: 'schemes:1:map<StringList>',
  SecurityScheme:
    'api_key_security_scheme:1:APIKeySecurityScheme|scheme http_auth_security_scheme:2:HTTPAuthSecurityScheme|scheme oauth2_security_scheme:3:OAuth2SecurityScheme|scheme open_id_connect_security_scheme:4:OpenIdConnectSecurityScheme|scheme mtls_security_scheme:5:MutualTlsSecurityScheme|scheme',
  APIKeySecurityScheme: 'description:1:string location:2:string name:3:string',
  HTTPAuthSecurityScheme: 'description:1:string scheme:2:string bearer_format:3:string',
  OAuth2SecurityScheme: 'description:1:string flows:2:OAuthFlows oauth2_metadata_url:3:string',
  OpenIdConnectSecurityScheme: 'description:1:string open_id_connect_url:2:string',
  MutualTlsSecurityScheme: 'description:1:string',
  OAuthFlows:
    'authorization_code:1:AuthorizationCodeOAuthFlow|flow client_credentials:2:ClientCredentialsOAuthFlow|flow implicit:3:ImplicitOAuthFlow|flow password:4:PasswordOAuthFlow|flow device_code:5:DeviceCodeOAuthFlow|flow',
  AuthorizationCodeOAuthFlow:
    'authorization_url:1:string token_url:2:string refresh_url:3:string scopes:4:map<string> pkce_required:5:bool',
  ClientCredentialsOAuthFlow: 'token_url:1:string refresh_url:2:string scopes:3:map<string>',
  ImplicitOAuthFlow: 'authorization_url:1:string refresh_url:2:string scopes:3:map<string>',
  PasswordOAuthFlow: 'token_url:1:string refresh_url:2:string scopes:3:map<string>',
  DeviceCodeOAuthFlow: 'device_authorization_url:1:string token_url:2:string refresh_url:3:string scopes:4:map<string>',
  SendMessageRequest: `tenant:1:string message:2:Message configuration:3:SendMessageConfiguration metadata:4:${structType}`,
  GetTaskRequest: 'tenant:1:string id:2:string history_length:3:int32?',
  ListTasksRequest: `tenant:1:string context_id:2:string status:3:TaskState page_size:4:int32? page_token:5:string history_length:6:int32? status_timestamp_after:7:${timestampType} include_artifacts:8:bool?`,
  ListTasksResponse: 'tasks:1:Task* next_page_token:2:string page_size:3:int32 total_size:4:int32',
  CancelTaskRequest: `tenant:1:string id:2:string metadata:3:${structType}`,
  GetTaskPushNotificationConfigRequest: 'tenant:1:string task_id:2:string id:3:string',
  DeleteTaskPushNotificationConfigRequest: 'tenant:1:string task_id:2:string id:3:string',
  SubscribeToTaskRequest: 'tenant:1:string id:2:string',
  ListTaskPushNotificationConfigsRequest: 'task_id:1:string page_size:2:int32 page_token:3:string tenant:4:string',
  GetExtendedAgentCardRequest: 'tenant:1:string',
  SendMessageResponse: 'task:1:Task|payload message:2:Message|payload',
  StreamResponse:
    'task:1:Task|payload message:2:Message|payload status_update:3:TaskStatusUpdateEvent|payload artifact_update:4:TaskArtifactUpdateEvent|payload',
  ListTaskPushNotificationConfigsResponse: 'configs:1:TaskPushNotificationConfig* next_page_token:2:string',
}

const enumValues: Readonly<Record<string, readonly string[]>> = {
  TaskState: [
    'TASK_STATE_UNSPECIFIED',
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELED',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_AUTH_REQUIRED',
  ],
  Role: ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'],
}

/** The methods of the service, each as `request response`. A response that ends with `*` is a stream. */
const methodTypes: Readonly<Record<string, string>> = {
  SendMessage: 'SendMessageRequest SendMessageResponse',
  SendStreamingMessage: 'SendMessageRequest StreamResponse*',
  GetTask: 'GetTaskRequest Task',
  ListTasks: 'ListTasksRequest ListTasksResponse',
  CancelTask: 'CancelTaskRequest Task',
  SubscribeToTask: 'SubscribeToTaskRequest StreamResponse*',
  CreateTaskPushNotificationConfig: 'TaskPushNotificationConfig TaskPushNotificationConfig',
  GetTaskPushNotificationConfig: 'GetTaskPushNotificationConfigRequest TaskPushNotificationConfig',
  ListTaskPushNotificationConfigs: 'ListTaskPushNotificationConfigsRequest ListTaskPushNotificationConfigsResponse',
  GetExtendedAgentCard: 'GetExtendedAgentCardRequest AgentCard',
  DeleteTaskPushNotificationConfig: 'DeleteTaskPushNotificationConfigRequest google.protobuf.Empty',
}

const scalarTypes: Readonly<Record<string, Type>> = {
  string: Type.STRING,
  bytes: Type.BYTES,
  bool: Type.BOOL,
  int32: Type.INT32,
}

/** Returns the files of the service and those that it imports, each as a `google.protobuf.FileDescriptorProto`. */
export function writeServiceFiles(): readonly Buffer[] {
  const importedFiles = [file_google_protobuf_empty, file_google_protobuf_struct, file_google_protobuf_timestamp]
  const file = create(FileDescriptorProtoSchema, {
    name: 'a2a.proto',
    package: packageName,
    syntax: 'proto3',
    dependency: importedFiles.map(({ proto }) => proto.name),
    messageType: Object.entries(messageFields).map(describeMessage),
    enumType: Object.entries(enumValues).map(([name, values]) => ({
      name,
      value: values.map((value, number) => ({ name: value, number })),
    })),
    service: [{ name: 'A2AService', method: Object.entries(methodTypes).map(describeMethod) }],
  })
  const files = [...importedFiles.map(({ proto }) => proto), file]
  return files.map(file => Buffer.from(toBinary(FileDescriptorProtoSchema, file)))
}

function describeMethod([name, types]: readonly [string, string]) {
  const [request = '', response = ''] = types.split(' ')
  return {
    name,
    inputType: typeNameOf(request),
    outputType: typeNameOf(response.replace('*', '')),
    serverStreaming: response.endsWith('*'),
  }
}

type Descriptor = MessageInitShape<typeof DescriptorProtoSchema>

function describeMessage([name, fields]: readonly [string, string]): Descriptor {
  const parsedFields = fields.split(' ').map(parseField)
  const oneofs = [...new Set(parsedFields.flatMap(({ oneof }) => oneof ?? []))]
  const optionalFields = parsedFields.filter(({ isOptional }) => isOptional)
  return {
    name,
    field: parsedFields.map(field => ({
      name: field.name,
      number: field.number,
      label: field.isRepeated ? Label.REPEATED : Label.OPTIONAL,
      ...(field.map === undefined
        ? describeType(field.type)
        : { type: Type.MESSAGE, typeName: typeNameOf(`${name}.${entryNameOf(field.name)}`) }),
      ...(field.oneof && { oneofIndex: oneofs.indexOf(field.oneof) }),
      // Each optional field has a separate oneof (proto3 optional).
      ...(field.isOptional && { proto3Optional: true, oneofIndex: oneofs.length + optionalFields.indexOf(field) }),
    })),
    oneofDecl: [...oneofs, ...optionalFields.map(field => `_${field.name}`)].map(oneof => ({ name: oneof })),
    nestedType: parsedFields.flatMap(field => (field.map === undefined ? [] : [describeEntry(field.name, field.map)])),
  }
}

function parseField(text: string) {
  const [, name = '', number, type = '', mark = ''] = /^(\w+):(\d+):([\w.<>]+)(.*)$/.exec(text) ?? []
  const [, map] = /^map<(.+)>$/.exec(type) ?? []
  return {
    name,
    number: Number(number),
    type,
    map,
    isRepeated: mark === '*' || map !== undefined,
    isOptional: mark === '?',
    oneof: mark.startsWith('|') ? mark.slice(1) : undefined,
  }
}

/** Describes the message of one entry of a map. */
function describeEntry(field: string, type: string): Descriptor {
  const optionalLabel = { label: Label.OPTIONAL }
  return {
    name: entryNameOf(field),
    options: { mapEntry: true },
    field: [
      { name: 'key', number: 1, type: Type.STRING, ...optionalLabel },
      { name: 'value', number: 2, ...describeType(type), ...optionalLabel },
    ],
  }
}

/** Returns the name of the message for the entries of a map. For example, `security_schemes` has `SecuritySchemesEntry`. */
function entryNameOf(field: string): string {
  return `${field.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Entry`
}

function describeType(type: string) {
  const scalar = scalarTypes[type]
  if (scalar !== undefined) return { type: scalar }
  return { type: type in enumValues ? Type.ENUM : Type.MESSAGE, typeName: typeNameOf(type) }
}

function typeNameOf(type: string): string {
  return type.startsWith('google.') ? `.${type}` : `.${packageName}.${type}`
}
